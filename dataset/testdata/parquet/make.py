import pyarrow as pa, pyarrow.parquet as pq
t = pa.table({"question":["Who?","When?"],"answer":["Ann","1868"],"passage":["Ann did."]*2})
D = "dataset/testdata/parquet/"  # run in the root of the repository, with pyarrow 26
pq.write_table(t, D+"lz4.parquet", compression="lz4", write_page_checksum=True)
pq.write_table(t.slice(0,0), D+"zero-rows.parquet", compression="lz4")
with pq.ParquetWriter(D+"empty-group.parquet", t.schema, compression="lz4") as w:
    w.write_table(t.slice(0,1)); w.write_table(t.slice(0,0)); w.write_table(t.slice(1,1))
for f in ["lz4","zero-rows","empty-group"]:
    m=pq.ParquetFile(D+f+".parquet").metadata
    print(f, m.num_rows, m.num_row_groups, [m.row_group(i).num_rows for i in range(m.num_row_groups)], m.row_group(0).column(0).compression if m.num_row_groups else "")
import random
random.seed(1)
pq.write_table(pa.table({"x": [random.getrandbits(62) for _ in range(2000)]}), D+"lz4-random.parquet", compression="lz4",
               use_dictionary=False)
