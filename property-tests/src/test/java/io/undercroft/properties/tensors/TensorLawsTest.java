package io.undercroft.properties.tensors;

import io.undercroft.properties.Choices;
import io.undercroft.properties.tensors.ViewChain.Contents;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;

/// Views of views mean what their names say, whatever strides they come to.
class TensorLawsTest {
    private static final int TRIES = 1000;

    @Provide
    Arbitrary<byte[]> choices() {
        return Arbitraries.bytes().withDistribution(RandomDistribution.uniform()).array(byte[].class).ofMaxSize(100);
    }

    @Property(tries = TRIES)
    void everyElementOfAViewIsTheOneItShouldBe(@ForAll("choices") byte[] choices) {
        ViewChain.start(new Choices(choices), Contents.BYTES).grow();
    }

    @Property(tries = TRIES)
    void whatIsWrittenThroughAViewIsWrittenThereAndNowhereElse(@ForAll("choices") byte[] choices) {
        ViewChain.start(new Choices(choices), Contents.BYTES).grow().write().check();
    }

    @Property(tries = TRIES / 4)
    void whatIsOutsideIsRefused(@ForAll("choices") byte[] choices) {
        ViewChain chain = ViewChain.start(new Choices(choices), Contents.BYTES).grow();
        Refusals.check(chain.last(), chain);
        chain.check();
    }

    @Property(tries = TRIES)
    void aCopyIsEqualUntilItIsWritten(@ForAll("choices") byte[] choices) {
        var chosen = new Choices(choices);
        new ElementCopies(chosen, ViewChain.start(chosen, Contents.BYTES).grow()).compare();
    }

    @Property(tries = TRIES)
    void numbersSurviveOtherDTypes(@ForAll("choices") byte[] choices) {
        var chosen = new Choices(choices);
        new ElementCopies(chosen, ViewChain.start(chosen, Contents.NUMBERS).grow()).convert();
    }

    @Property(tries = TRIES)
    void arraysHaveTheElementsInOrder(@ForAll("choices") byte[] choices) {
        var chosen = new Choices(choices);
        new ElementCopies(chosen, ViewChain.start(chosen, Contents.NUMBERS).grow()).toArrays();
    }

    @Property(tries = TRIES)
    void aTargetHasWhatItsSourceHadBefore(@ForAll("choices") byte[] choices) {
        var chosen = new Choices(choices);
        ViewChain target = ViewChain.start(chosen, chosen.of(List.of(Contents.values())));
        ViewChain source = target.startAgain();
        new ElementCopies(chosen, target.grow()).copyFrom(source.grow());
    }

    @Property(tries = TRIES)
    void aTargetHasTheNumbersOfAnotherStorage(@ForAll("choices") byte[] choices) {
        var chosen = new Choices(choices);
        ViewChain target = ViewChain.start(chosen, Contents.NUMBERS).grow();
        new ElementCopies(chosen, target).copyFrom(ViewChain.start(chosen, Contents.NUMBERS).grow());
    }
}
