"""How fast is this store, beside other ways to search the same papers on the same machine?

`vocabulary` and `corpus` make the papers, `prepared` turns a corpus into what every engine reads,
`engines` holds one class per engine, `build` makes their indexes, `worker` is the process an engine
lives in, `measure` asks all of them in turns, `fresh` times a first query, `report` prints. Not
useful for: whether the answers are relevant.
"""
