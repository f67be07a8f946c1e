// Package scorer turns a row and its diagnosis into scores along the taxonomy's dimensions: with an LLM as judge, or offline
// from the probabilities of errors.
package scorer
