// Package clear reads and writes the results of CLEAR (https://arxiv.org/abs/2507.18392), as its dashboard takes them.
// They are a ZIP file with results.parquet or results.csv and metadata.json. docs/formats.md says what maps to what.
package clear
