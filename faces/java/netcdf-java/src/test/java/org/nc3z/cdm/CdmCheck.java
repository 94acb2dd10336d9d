package org.nc3z.cdm;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import ucar.ma2.Array;
import ucar.ma2.MAMath;
import ucar.ma2.Range;
import ucar.nc2.NCdumpW;
import ucar.nc2.NetcdfFile;
import ucar.nc2.Variable;
import ucar.nc2.dataset.DatasetUrl;
import ucar.nc2.dataset.NetcdfDataset;
import ucar.nc2.dataset.NetcdfDataset.Enhance;

/** Reads archives through netcdf-java, and compares with what it reads of the originals. Arguments: command, archive, original. */
public final class CdmCheck {
    private CdmCheck() {}

    /** Runs one command; what differs ends it with an exception. */
    public static void main(String[] args) throws Exception {
        String done;
        switch (args[0]) {
            case "compare":
                done = compare(args[1], args[2]);
                break;
            case "dump":
                done = dump(args[1], true);
                break;
            case "threads":
                done = threads(args[1], args[2], Integer.parseInt(args[3]));
                break;
            case "enhanced":
                done = enhanced(args[1], args[2]);
                break;
            case "values":
                done = values(args[1], args[2]);
                break;
            case "version":
                try (NetcdfFile file = NetcdfFile.open(args[1], -1, null, "nc3z.version=" + args[2])) { done = file.toString(); }
                break;
            default:
                throw new IllegalArgumentException(args[0]);
        }
        System.out.println(done);
        // the library's file cache has threads that do not end
        System.exit(0);
    }

    private static void need(boolean truth, String what) {
        if (!truth) throw new AssertionError(what);
    }

    /** What NCdump prints, without the first line, which has the name of the file. */
    private static String dump(String path, boolean all) throws IOException {
        StringWriter out = new StringWriter();
        try (NetcdfFile file = NetcdfFile.open(path)) {
            NCdumpW.print(file, out, all ? NCdumpW.WantValues.all : NCdumpW.WantValues.none, false, false, null, null);
        }
        return out.toString().substring(out.toString().indexOf('\n') + 1);
    }

    private static List<Range> section(Variable v, Random random) throws Exception {
        List<Range> out = new ArrayList<>();
        for (int n : v.getShape()) {
            int first = random.nextInt(n);
            int last = first + random.nextInt(n - first);
            out.add(new Range(first, last, 1 + random.nextInt(3)));
        }
        return out;
    }

    private static String compare(String archive, String original) throws Exception {
        Random random = new Random(1);
        int variables = 0;
        need(dump(archive, false).equals(dump(original, false)), archive + ": the header is another");
        try (NetcdfFile a = NetcdfFile.open(archive); NetcdfFile b = NetcdfFile.open(original)) {
            need(a.getFileTypeId().equals("nc3z"), a.getFileTypeId());
            for (Variable v : b.getVariables()) {
                Variable w = a.findVariable(v.getFullNameEscaped());
                need(MAMath.equals(v.read(), w.read()), archive + ": " + v.getFullName());
                for (int i = 0; i < 10 && v.getSize() > 0; i++) {
                    List<Range> s = section(v, random);
                    need(MAMath.equals(v.read(s), w.read(s)), archive + ": " + v.getFullName() + " " + s);
                }
                variables++;
            }
        }
        if (Files.size(Paths.get(original)) < 1_000_000) need(dump(archive, true).equals(dump(original, true)), archive + ": NCdump prints other values");
        return variables + " variables";
    }

    /** The values of a CDF-5 file, or an archive of it, in hexadecimal, to compare with libnetcdf. */
    private static String values(String path, String name) throws Exception {
        try (NetcdfFile file = NetcdfFile.open(path)) {
            Variable v = file.findVariable(name);
            Array a = v.read();
            StringBuilder out = new StringBuilder(v.getDataType() + " " + v.isUnlimited());
            while (a.hasNext()) {
                Object x = a.next();
                out.append(' ').append(x instanceof Character ? String.valueOf((int) (Character) x) : String.valueOf(x));
            }
            return out.toString();
        }
    }

    /** Threads that open by a cache of few files, read, and close, as a server does. */
    private static String threads(String archive, String original, int count) throws Exception {
        NetcdfDataset.initNetcdfFileCache(1, 2, 60);
        ExecutorService pool = Executors.newFixedThreadPool(count);
        List<Future<Integer>> all = new ArrayList<>();
        for (int t = 0; t < count; t++) {
            int seed = t;
            all.add(pool.submit((Callable<Integer>) () -> {
                Random random = new Random(seed);
                int reads = 0;
                for (int i = 0; i < 10; i++) {
                    NetcdfFile a = NetcdfDataset.acquireFile(DatasetUrl.findDatasetUrl(archive), null);
                    try (NetcdfFile b = NetcdfFile.open(original)) {
                        for (int k = 0; k < 4; k++, reads++) {
                            Variable v = b.getVariables().get(random.nextInt(b.getVariables().size()));
                            List<Range> s = section(v, random);
                            need(MAMath.equals(v.read(s), a.findVariable(v.getFullNameEscaped()).read(s)), v.getFullName() + " " + s);
                        }
                    } finally {
                        a.close();
                    }
                }
                return reads;
            }));
        }
        // one open file that all threads read at the same time
        try (NetcdfFile a = NetcdfFile.open(archive); NetcdfFile b = NetcdfFile.open(original)) {
            List<Array> expected = new ArrayList<>();
            for (Variable v : b.getVariables()) expected.add(v.read());
            for (int t = 0; t < count; t++) {
                all.add(pool.submit((Callable<Integer>) () -> {
                    for (int k = 0; k < expected.size(); k++) need(MAMath.equals(expected.get(k), a.getVariables().get(k).read()), a.getVariables().get(k).getFullName());
                    return expected.size();
                }));
            }
            int reads = 0;
            for (Future<Integer> f : all) reads += f.get();
            pool.shutdown();
            NetcdfDataset.getNetcdfFileCache().clearCache(true);
            return reads + " reads of " + count + " threads";
        }
    }

    /** Values as a server gives them, with scale, offset and missing values applied; coordinate systems need udunits, which not every jar has. */
    private static String enhanced(String archive, String original) throws Exception {
        EnumSet<Enhance> mode = EnumSet.of(Enhance.ConvertUnsigned, Enhance.ApplyScaleOffset, Enhance.ConvertMissing);
        try (NetcdfDataset a = NetcdfDataset.openDataset(DatasetUrl.findDatasetUrl(archive), mode, -1, null, null);
            NetcdfDataset b = NetcdfDataset.openDataset(DatasetUrl.findDatasetUrl(original), mode, -1, null, null)) {
            for (Variable v : b.getVariables()) {
                Variable w = a.findVariable(v.getFullNameEscaped());
                need(v.getDataType() == w.getDataType() && MAMath.equals(v.read(), w.read()), v.getFullName());
            }
            return b.getVariables().size() + " enhanced";
        }
    }
}
