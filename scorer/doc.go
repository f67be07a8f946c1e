// Package scorer turns a row and its diagnosis into scores along the taxonomy's dimensions. Language models do it as
// judges, or it is done offline from the probabilities of errors; language models look for the errors themselves, too.
//
//   - [Offline] needs nothing but the diagnosis: [Offline.Judge].
//   - [Panel] asks one llm.Model or several, each with an llm.Client of its own, and shows them the errors found:
//     [Panel.Score].
//   - [Labeller] is an identifier: it finds errors by a language model, and writes the record that package identifier
//     writes: [Labeller.Identify].
//
// Panel and Labeller take a stream of rows and give it back in order. What they ask is made by a prompt.Template;
// replies are read by [ParseVerdict], [ParseJoint] and [ParseLabels]. A reply that does not hold what was asked for is
// asked for again, and then is a [reply.Fault] with its reason, never a number or a label.
//
// Retries, rate limits, memory and a budget are decorators of the llm.Client: llm.Retry, llm.Limit and package
// llm/journal. A run that is to survive a crash without paying twice needs the journal.
package scorer
