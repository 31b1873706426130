package io.undercroft.properties;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.GeneralCodingRules.NO_CLASSES_SHOULD_ACCESS_STANDARD_STREAMS;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.undercroft.cuda.internal.CudaMemory;
import io.undercroft.cuda.internal.DeviceChecks;
import io.undercroft.cuda.internal.RandomBytes;
import io.undercroft.cuda.internal.RingSize;
import io.undercroft.format.dump.FileDump;
import io.undercroft.format.dump.FormatDump;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/// The modules know each other in one direction only, and keep what is internal to themselves.
class ModuleDependencyTest {
    private static final String ROOT = "io.undercroft.";
    private static final List<String> MODULES = List.of("format", "storage", "mmap", "serializer", "interop",
            "http", "hadoop", "adapters", "cuda", "spark", "cli", "benchmarks");

    private static final JavaClasses CLASSES = SourceShape.CLASSES;

    @Test
    void everyModuleIsLookedAt() {
        assertThat(MODULES).allMatch(module -> CLASSES.stream().anyMatch(type -> module.equals(moduleOf(type))));
        assertThat(CLASSES).allMatch(type -> MODULES.contains(moduleOf(type)));
    }

    @Test
    void noFilesOfDifferentPackagesDependOnEachOtherInACircle() {
        assertThat(SourceShape.cycles()).isEmpty();
    }

    @Test
    void dependenciesPointOneWay() {
        layeredArchitecture().consideringOnlyDependenciesInAnyPackage("io.undercroft..")
                .layer("format-spec").definedBy(ROOT + "format..")
                .layer("storage-core").definedBy(ROOT + "storage..")
                .layer("mmap").definedBy(ROOT + "mmap..")
                .layer("serializer").definedBy(ROOT + "serializer..")
                .layer("interop").definedBy(ROOT + "interop..")
                .layer("http").definedBy(ROOT + "http..")
                .layer("hadoop").definedBy(ROOT + "hadoop..")
                .layer("adapters").definedBy(ROOT + "adapters..")
                .layer("cuda").definedBy(ROOT + "cuda..")
                .layer("spark").definedBy(ROOT + "spark..")
                .layer("cli").definedBy(ROOT + "cli..")
                .layer("benchmarks").definedBy(ROOT + "benchmarks..")
                .whereLayer("format-spec").mayNotAccessAnyLayer()
                .whereLayer("storage-core").mayNotAccessAnyLayer()
                .whereLayer("mmap").mayOnlyAccessLayers("storage-core")
                .whereLayer("serializer").mayOnlyAccessLayers("format-spec", "storage-core", "mmap")
                .whereLayer("interop").mayOnlyAccessLayers("format-spec", "storage-core", "mmap", "serializer")
                .whereLayer("http").mayOnlyAccessLayers("format-spec", "mmap", "serializer")
                .whereLayer("hadoop").mayOnlyAccessLayers("format-spec", "mmap", "serializer")
                .whereLayer("adapters").mayOnlyAccessLayers("storage-core", "mmap", "serializer")
                .whereLayer("cuda").mayOnlyAccessLayers("storage-core", "mmap")
                .whereLayer("spark").mayOnlyAccessLayers("format-spec", "storage-core", "serializer", "hadoop")
                .whereLayer("cli").mayNotBeAccessedByAnyLayer()
                .whereLayer("benchmarks").mayNotBeAccessedByAnyLayer()
                .check(CLASSES);
    }

    @Test
    void storageCoreKnowsOnlyTheJdk() {
        classes().that().resideInAPackage(ROOT + "storage..").should().onlyDependOnClassesThat()
                .resideInAnyPackage(ROOT + "storage..", "java..", "jdk.jfr..", "org.jspecify..").check(CLASSES);
    }

    @Test
    void theFormatKnowsNeitherFilesNorThreads() {
        noClasses().that().resideInAPackage(ROOT + "format..").should().dependOnClassesThat()
                .resideInAnyPackage("java.nio.channels..", "java.nio.file..", "java.util.concurrent..").check(CLASSES);
    }

    @Test
    void chronicleBytesIsUsedByItsAdaptersAndOneClassOfTheCommandOnly() {
        noClasses().that().resideOutsideOfPackage(ROOT + "adapters..").and()
                .doNotHaveFullyQualifiedName(ROOT + "cli.internal.AnnotatedDump").should().dependOnClassesThat()
                .resideInAPackage("net.openhft..").check(CLASSES);
    }

    @Test
    void nativeCallsStayInMmap() {
        noClasses().that().resideOutsideOfPackage(ROOT + "mmap..").should().dependOnClassesThat()
                .haveFullyQualifiedName("java.lang.foreign.Linker").check(CLASSES);
    }

    @Test
    void jcudaIsUsedByOneClass() {
        noClasses()
                .that(describe("are not the driver's",
                        type -> !type.getName().startsWith(ROOT + "cuda.internal.Driver")))
                .should().dependOnClassesThat().resideInAPackage("jcuda..").check(CLASSES);
    }

    @Test
    void foreignFormatsDoNotKnowEachOther() {
        slices().matching(ROOT + "interop.(torch|safetensors|numpy|gguf|torch7)..").should().notDependOnEachOther()
                .allowEmptyShould(true).check(CLASSES);
    }

    @Test
    void internalPackagesAreUsedByTheirOwnModuleOnly() {
        classes().that().resideInAPackage("io.undercroft..internal..").and()
                .resideOutsideOfPackages(ROOT + "format.internal", ROOT + "serializer.internal.analysis",
                        ROOT + "serializer.internal.tree", ROOT + "storage.internal.support",
                        ROOT + "mmap.internal.support")
                .and()
                .doNotBelongToAnyOf(CudaMemory.class, RingSize.class, DeviceChecks.class, RandomBytes.class)
                .should(beUsedBy(Set.of())).check(CLASSES);
    }

    /// `croft cuda-check` runs the checks of devices, and with `--sweep` loads with rings of other sizes.
    @Test
    void theRingsAndChecksOfDevicesAreUsedByTheCommandOnly() {
        classes().that()
                .belongToAnyOf(CudaMemory.class, RingSize.class, DeviceChecks.class, RandomBytes.class)
                .should(beUsedBy(Set.of("cli"))).check(CLASSES);
    }

    @Test
    void theCodecOfCroftFilesIsUsedByTheSerializerAndBenchmarksOnly() {
        classes().that().resideInAPackage(ROOT + "format.internal")
                .should(beUsedBy(Set.of("serializer", "benchmarks"))).check(CLASSES);
    }

    @Test
    void descriptionsOfBytesAreUsedByTheCommandAndMadeByFormats() {
        classes().that().belongToAnyOf(FileDump.class).should(beUsedBy(Set.of("cli"))).check(CLASSES);
        classes().that().belongToAnyOf(FormatDump.class).should(beUsedBy(Set.of("cli", "interop"))).check(CLASSES);
    }

    @Test
    void analysesOfFilesAreUsedByTheCommandAndSparkOnly() {
        classes().that().resideInAPackage(ROOT + "serializer.internal.analysis")
                .should(beUsedBy(Set.of("cli", "spark")))
                .check(CLASSES);
    }

    @Test
    void walksThroughStatesAreUsedByFormatsAndByWhatShowsFilesOnly() {
        classes().that().resideInAPackage(ROOT + "serializer.internal.tree")
                .should(beUsedBy(Set.of("interop", "cli", "spark"))).check(CLASSES);
    }

    @Test
    void utilitiesOfStoragesAreUsedByTheModulesThatTheyAreExportedTo() {
        classes().that().resideInAPackage(ROOT + "storage.internal.support")
                .should(beUsedBy(Set.of("mmap", "serializer", "cuda", "cli", "testsupport"))).check(CLASSES);
    }

    @Test
    void utilitiesOfMappingAreUsedByTheModulesThatTheyAreExportedTo() {
        classes().that().resideInAPackage(ROOT + "mmap.internal.support")
                .should(beUsedBy(Set.of("http", "hadoop", "serializer", "cli", "benchmarks"))).check(CLASSES);
    }

    @Test
    void everyPackageIsNullMarked() {
        assertThat(CLASSES.getPackage("io.undercroft").getSubpackagesInTree())
                .filteredOn(found -> !found.getClasses().isEmpty() && !found.getName().endsWith(".jmh_generated"))
                .allMatch(found -> found.isAnnotatedWith("org.jspecify.annotations.NullMarked"));
    }

    @Test
    void librariesDoNotPrint() {
        NO_CLASSES_SHOULD_ACCESS_STANDARD_STREAMS.check(
                CLASSES.that(
                        describe("are of a library", type -> !List.of("cli", "benchmarks").contains(moduleOf(type))
                                && !type.getName().equals(ROOT + "spark.Jobs"))));
    }

    private static String moduleOf(JavaClass type) {
        if (!type.getPackageName().startsWith(ROOT)) {
            return "";
        }
        String rest = type.getPackageName().substring(ROOT.length());
        int dot = rest.indexOf('.');
        return dot < 0 ? rest : rest.substring(0, dot);
    }

    /// {@return the condition that a type is used by its own module and by these friends of it only}
    private static ArchCondition<JavaClass> beUsedBy(Set<String> friends) {
        return new ArchCondition<>("be used by their own module and " + friends + " only") {
            @Override
            public void check(JavaClass type, ConditionEvents events) {
                type.getDirectDependenciesToSelf().forEach(use -> {
                    String user = moduleOf(use.getOriginClass());
                    events.add(new SimpleConditionEvent(type, user.equals(moduleOf(type)) || friends.contains(user),
                            use.getDescription()));
                });
            }
        };
    }
}
