//go:build race

package journal

const underRace = true
