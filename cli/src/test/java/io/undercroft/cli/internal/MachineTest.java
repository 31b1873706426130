package io.undercroft.cli.internal;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MachineTest {
    @ParameterizedTest
    @CsvSource({"17.0.15, false, too old", "24, false, too old", "25, false, JDK-8377811",
            "25.0.2+10, false, JDK-8377811",
            "25.0.3+9-LTS, true, 25.0.3", "25.1, true, 25.1", "26.0.1, true, not tested"})
    void whichJdkIsSupportedIsTheLaunchersRule(String version, boolean isSupported, String said) {
        Machine.Finding finding = Machine.jdk(Runtime.Version.parse(version));
        assertThat(finding.isAvailable()).isEqualTo(isSupported);
        assertThat(finding.found()).contains(said);
    }
}
