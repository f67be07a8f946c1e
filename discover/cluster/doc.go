// Package cluster groups short sentences that say the same without a language model. It also finds the sentences
// nearest to one.
//
// # How
//
// [Group] takes sentences of one [Key] once, with their number. How alike two are is the cosine of their TF-IDF
// vectors of character n-grams (3 and 4 within a word, without stop words, sublinear, smooth weights); where there
// are vectors of identifier.Embedder, it is the mean of that and of the cosine of the vectors, centred over all
// sentences. Groups are joined, by average linkage, while they are as alike as one threshold says. Of more than
// Options.Exact distinct sentences, a sample is grouped in this way; each of the others joins the nearest group
// within the threshold; what is left goes through the same again. Two sentences that each reach the threshold may be
// apart then, as they met different samples: little changes.
//
// On two cores at 2.3 GHz, 100,000 different sentences of 40 kinds take 3 s by words and 6 s with vectors of 384
// numbers (BenchmarkGroup); 50,000 of which no two are alike, the worst there is, took 23 s and 87 s. Beside sentences
// and vectors, the n-grams stay in memory, about a kilobyte a sentence, and the table of one sample, 64 MB.
//
// # What it is worth
//
// testdata/issues.jsonl holds 304 sentences in 64 groups of 1 to 14, written for this package: issues of generated
// questions, summaries, code, chats, reasoning and translations, with paraphrases that share few words, and with
// neighbours that are hard to tell apart. Linkage, n-grams, share of the vectors and threshold were chosen on one
// half, by pairs of groups; this is the other one, 160 sentences in 32 groups. The threshold is DefaultOptions' 0.1.
//
//	                     adjusted   of 8 groups        V    homogeneity   completeness   groups
//	                     Rand       drawn at random
//	all in one           0          0                  0    0             1              1
//	each alone           0          0                  0.80 1             0.67           160
//	words                0.13       0.26               0.63 0.63          0.63           40
//	words and vectors    0.21       0.40               0.65 0.62          0.69           25
//
// On the half that they were chosen on, the figures are 0.19 and 0.38 with words, 0.27 and 0.43 with vectors too. So
// this is a first sort of sentences for a person to correct, far from what people would group, and it is better where
// there are few kinds of issues. Per layer of the default model, with the threshold best on the tuning half, the test
// half's adjusted Rand indexes are, for vectors alone and with words:
//
//	layer 0 (embeddings) 0.13, 0.19   layer 1 0.11, 0.12   layer 2 0.08, 0.10
//	layer 3              0.12, 0.10   layer 4 0.10, 0.18   layer 5 0.14, 0.19
//	layer 6              0.15, 0.20
//
// testdata/comments.jsonl holds what reviewers typed about output of real systems, a language model in their place,
// and into which issue another one of its kind put each comment: 193 on questions, 239 on responses of chat models,
// and 230 on these in a few words. Of the thresholds 0.02 to 0.5, 0.1 is best on the first two, 0.15 (0.27) on the
// last; at 0.1, with vectors, all groups and 8 of them; last, how far a second reader, who did not see the groups of
// the first and was asked for 25 to 35, agrees with that one (TestReaders):
//
//	questions                 0.10   0.12   0.50
//	responses                 0.14   0.20   0.46
//	responses, a few words    0.20   0.32   0.65
//
// Differences of less than about 0.05 are chance in a set of this size. The vectors are layer 6's, which learnt to keep
// the similarities of a sentence encoder (training/sentences.py). TestQuality prints these figures, and TestPromise
// holds those of DefaultOptions.
//
// A [Shortlist] does better: when the sentences come one after the other, and each is put into its right group, the
// group of the next one, where it is there already, is among the nearest 1, 5, 10 and 20 of up to 64 in these shares
// (all sentences, mean of 10 orders; TestShortlist holds them):
//
//	words               0.16   0.45   0.61   0.74
//	words and vectors   0.26   0.61   0.76   0.88
package cluster
