package io.undercroft.spark.internal.table;

import org.apache.spark.sql.connector.metric.CustomSumMetric;

/// How many bytes of elements a query has read, for the web page of Spark. Spark creates it by name.
public final class ElementBytesMetric extends CustomSumMetric {
    /// Its name in Spark.
    static final String NAME = "elementBytes";

    /// For Spark.
    public ElementBytesMetric() {}

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public String description() {
        return "bytes of elements read";
    }
}
