// Package evaluation measures what erreval found against what people say: labels against gold labels, scores against
// human scores, and what showing the errors to a judge changes (the lift). Every figure has an interval, which
// resamples groups of rows.
//
// Begin with NewLabels or NewScores. Give it the rows of each file, such as a dataset.Reader's Read: to Labels with
// ReadGold and ReadPredictions, to Scores with ReadScores. Then ComputeReport gives a LabelReport or a ScoreReport,
// which marshals to JSON with stable keys; its method Report puts the figures into words and tables, for a terminal or
// as Markdown. A Lift takes scored rows one by one where no file holds them yet.
//
// An OptionError says that an option does not fit the rows, report.ErrUnfit that a row was made with another taxonomy.
// docs/evaluation.md and docs/scoring.md say how each figure is computed.
package evaluation
