package io.undercroft.properties.sets;

import io.undercroft.properties.ChainModel;
import java.io.IOException;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.state.ActionChain;

/// A set is what was committed last, or is refused as one with a part that is gone, whatever writers do to its shards.
class SetHistoryLawsTest {
    @Provide
    Arbitrary<ActionChain<SetModel>> runs() {
        return SetModel.chains().withMaxTransformations(12);
    }

    @Property(tries = 300)
    void aSetIsWhatWasCommitted(@ForAll("runs") ActionChain<SetModel> chain) throws IOException {
        ChainModel.run(chain, SetModel::check);
    }
}
