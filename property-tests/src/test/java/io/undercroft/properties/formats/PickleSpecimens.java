package io.undercroft.properties.formats;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.undercroft.properties.damage.TorchZip;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// Pickles of objects, arrays and nested files, as plain pickles and in archives of PyTorch. All opcodes of objects are
/// in them.
public final class PickleSpecimens {
    private static final String HEAD = "\u0080\2";
    private static final String STORAGE = "(Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI2\n";
    private static final String FLOATS = "\0\0\u00c0\77\0\0\0\u00c0";
    private static final String TENSOR = "ctorch._utils\n_rebuild_tensor_v2\n(" + STORAGE
            + "tQI0\n(I2\nt(I1\nt\u0089ccollections\nOrderedDict\n)RtR";
    private static final String MODULE = "ctorch.nn.modules.linear\nLinear\n)\u0081}(V_parameters\n}Vweight\n"
            + TENSOR
            + "sV_buffers\nccollections\nOrderedDict\n)RV_modules\n}V_hooks\n\u008fub";
    private static final String OBJECTS = "(capp\nC\n)\u0081q\1}Vself\nh\1sb(iapp\nC\n(I1\nVa\nu(capp\nC\nI1\no"
            + "capp\nC\nI1\n\u0085R(I1\nI2\ne}Vx\nI1\nsbcapp\nC\n)}Vk\nh\1s\u0092Va\nI1\nscapp\nC\n)\u0081(I1\n\u0090"
            + "}h\1I1\ns\u0082\5)Rh\1Qcposix\nsystem\nVecho\n\u0085Rcapp\nC\n}Vx\nI1\nsbVapp\nVOuter.Inner\n\u0093t";
    private static final String CLASSES = "(c__builtin__\ngetattr\nq\0capp\nOuter\nVInner\n\u0086Rq\1"
            + "h\0h\1VMost\n\u0086R"
            + "ccopy_reg\n_reconstructor\n(capp\nC\nc__builtin__\nobject\nNtR}Va\nI1\nsb"
            + "ccopy_reg\n_reconstructor\n(capp\nP\nc__builtin__\ntuple\n(I1\nttR"
            + "ccopy_reg\n__newobj__\ncapp\nC\nI1\n\u0086Rt";
    private static final String SETS = "(\u008f\u0094(capp\nC\n)\u0081I1\n\u0090"
            + "\u008fq\1(I1\n\u0090(capp\nC\n)\u0081\u0090"
            + "(capp\nC\n)\u0081\u0091c__builtin__\nset\n](capp\nC\n)\u0081I1\ne\u0085Rh\1t";
    private static final String DATES = "(cdatetime\ndatetime\nC\12\7\u00ea\1\2\3\4\5\12[\u00f5cdatetime\ntimezone\n"
            + "cdatetime\ntimedelta\n(I-1\nI5\nI7\ntR\u0085R\u0086Rcdatetime\ndate\nC\4\7\u00ea\1\2\u0085R"
            + "cpathlib\nPosixPath\n(V/\nVa\ntRcdecimal\nDecimal\nV1.5\n\u0085R"
            + "cuuid\nUUID\n)\u0081}Vint\nL24197857161011715162171839636988778104L\nsbt";
    private static final String ARRAY = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntC\1btR(I1\n"
            + "(I2\ntcnumpy\ndtype\n(Vf4\nI0\nI1\ntR(I3\nV<\nNNNI-1\nI-1\nI0\ntb\u0089C\10" + FLOATS + "tb";
    private static final String SAVE = HEAD + "\u008a\12l\u00fc\u009cF\u00f9 j\u00a8P\31." + HEAD + "M\u00e9\3." + HEAD
            + "}." + HEAD + STORAGE + "NtQ." + HEAD + "]V0\na." + "\2\0\0\0\0\0\0\0" + FLOATS;
    private static final String SCRIPT = "c__torch__\nM\n)\u0081}(Vw\n" + TENSOR + "Vscale\nF0.5\nub";
    private static final String CODE = """
            class M(Module):
              __parameters__ = ["w", ]
              __buffers__ = []
              w : Tensor
              scale : float
            """;

    private PickleSpecimens() {}

    static List<Specimen> all() throws IOException {
        Map<String, String> pickles = new LinkedHashMap<>();
        pickles.put("objects", OBJECTS);
        pickles.put("classes in classes", CLASSES);
        pickles.put("sets of objects", SETS);
        pickles.put("dates", DATES);
        pickles.put("an array of NumPy", ARRAY);
        pickles.put("a tensor in bytes", "ctorch.storage\n_load_from_bytes\nC" + (char) SAVE.length() + SAVE
                + "\u0085R");
        List<Specimen> specimens = new ArrayList<>();
        for (Map.Entry<String, String> pickle : pickles.entrySet()) {
            String whole = HEAD + "(" + pickle.getValue() + "t.";
            specimens.add(new Specimen(pickle.getKey(), "pickle", whole.getBytes(ISO_8859_1)));
            specimens.add(archive(pickle.getKey(), Map.of("data.pkl", whole)));
        }
        specimens.add(archive("a module", Map.of("data.pkl", HEAD + MODULE + ".")));
        specimens.add(script());
        return specimens;
    }

    /// {@return an archive of TorchScript}
    public static Specimen script() throws IOException {
        return archive("a TorchScript archive", Map.of("data.pkl", HEAD + SCRIPT + ".", "constants.pkl", HEAD + ").",
                "code/__torch__.py", CODE));
    }

    private static Specimen archive(String name, Map<String, String> records) throws IOException {
        Map<String, byte[]> all = new LinkedHashMap<>();
        records.forEach((record, text) -> all.put("archive/" + record, text.getBytes(ISO_8859_1)));
        all.put("archive/data/0", FLOATS.getBytes(ISO_8859_1));
        all.put("archive/version", "3\n".getBytes(ISO_8859_1));
        return new Specimen(name + " in an archive", "torch-zip", TorchZip.archive(all));
    }
}
