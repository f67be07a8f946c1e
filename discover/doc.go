// Package discover finds the issues that no taxonomy lists. An [Analyst] asks a language model what is wrong with each
// row; a [Grouper] sorts the rows by what was found, with a language model or without one; [Result.Publish] gives each
// row its issues, and the list of all.
//
// What comes out is a function of the rows, the options and the replies: not of timing, although calls are made at the
// same time. A row that could not be analysed or sorted is unassigned, with the reason; it is never taken for one
// without issue.
package discover
