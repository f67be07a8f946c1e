// Package evaluation measures what erreval found against what people say. That is labels against gold labels, scores
// against human scores, and what showing the errors to a judge changes (the lift). Every figure has an interval, which
// resamples groups of rows.
//
// Begin with NewLabels or NewScores. Read the rows of each file, for example with the Read of a dataset.Reader: for
// Labels with ReadGold and ReadPredictions, for Scores with ReadScores. Then ComputeReport gives a LabelReport or a
// ScoreReport, which marshals to JSON with stable keys. Its method Report makes tables and sentences, for a terminal or
// as Markdown. A Lift takes scored rows one by one, during a run.
//
// An OptionError means that an option does not fit the rows; report.ErrUnfit means that a row was made with another
// taxonomy. docs/evaluation.md and docs/scoring.md say how each figure is computed.
package evaluation
