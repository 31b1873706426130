package io.undercroft.properties.tensors;

import io.undercroft.properties.ChainModel;
import io.undercroft.properties.tensors.ViewChain.Contents;
import java.io.IOException;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.state.ActionChain;

/// Views of views have the elements that their names say, whatever strides they come to.
class TensorLawsTest {
    private static final int TRIES = 800;
    /// Of the chains whose last actions are not views alone, about a third.
    private static final int MANY = 8;
    private static final int LINKS = 5;

    @Provide
    Arbitrary<ActionChain<ViewChain>> views() {
        return ViewChain.chains(Contents.BYTES).withMaxTransformations(LINKS);
    }

    @Provide
    Arbitrary<ActionChain<ViewChain>> writes() {
        return ViewChain.chains(Contents.BYTES).withAction(MANY, ViewChain.link(ViewChain::write))
                .withMaxTransformations(LINKS);
    }

    @Provide
    Arbitrary<ActionChain<ViewChain>> refusals() {
        return ViewChain.chains(Contents.BYTES)
                .withAction(MANY, ViewChain.link(chain -> Refusals.check(chain.last(), chain.name())))
                .withMaxTransformations(LINKS);
    }

    @Provide
    Arbitrary<ActionChain<ViewChain>> comparisons() {
        return ViewChain.chains(Contents.BYTES).withAction(MANY, ElementCopies.action(ElementCopies::compare))
                .withMaxTransformations(LINKS);
    }

    @Provide
    Arbitrary<ActionChain<ViewChain>> conversions() {
        return ViewChain.chains(Contents.NUMBERS).withAction(MANY, ElementCopies.action(ElementCopies::convert))
                .withMaxTransformations(LINKS);
    }

    @Provide
    Arbitrary<ActionChain<ViewChain>> arrays() {
        return ViewChain.chains(Contents.NUMBERS).withAction(MANY, ElementCopies.action(ElementCopies::toArrays))
                .withMaxTransformations(LINKS);
    }

    @Provide
    Arbitrary<ActionChain<ViewChain>> copiesInOneStorage() {
        return ViewChain.chains(Contents.BYTES).withAction(MANY, ViewChain.link(ViewChain::startAgain))
                .withAction(MANY, ElementCopies.action(ElementCopies::copyFrom)).withMaxTransformations(LINKS + 2);
    }

    @Provide
    Arbitrary<ActionChain<ViewChain>> copiesOfNumbers() {
        return ViewChain.chains(Contents.NUMBERS).withAction(MANY / 2, ViewChain.link(ViewChain::start))
                .withAction(MANY / 2, ViewChain.link(ViewChain::startAgain))
                .withAction(MANY, ElementCopies.action(ElementCopies::copyFrom)).withMaxTransformations(LINKS + 2);
    }

    @Property(tries = TRIES)
    void everyElementOfAViewIsTheOneItShouldBe(@ForAll("views") ActionChain<ViewChain> chain) throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }

    @Property(tries = TRIES)
    void whatIsWrittenThroughAViewIsWrittenThereAndNowhereElse(@ForAll("writes") ActionChain<ViewChain> chain)
            throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }

    @Property(tries = TRIES / 4)
    void whatIsOutsideIsRefused(@ForAll("refusals") ActionChain<ViewChain> chain) throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }

    @Property(tries = TRIES)
    void aCopyIsEqualUntilItIsWritten(@ForAll("comparisons") ActionChain<ViewChain> chain) throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }

    @Property(tries = TRIES)
    void numbersSurviveOtherDTypes(@ForAll("conversions") ActionChain<ViewChain> chain) throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }

    @Property(tries = TRIES)
    void arraysHaveTheElementsInOrder(@ForAll("arrays") ActionChain<ViewChain> chain) throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }

    @Property(tries = TRIES)
    void aTargetHasWhatItsSourceHadBefore(@ForAll("copiesInOneStorage") ActionChain<ViewChain> chain)
            throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }

    @Property(tries = TRIES)
    void aTargetHasTheNumbersOfAnotherStorage(@ForAll("copiesOfNumbers") ActionChain<ViewChain> chain)
            throws IOException {
        ChainModel.run(chain, ViewChain::check);
    }
}
