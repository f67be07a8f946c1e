//go:build race

package main

// memoryFactor is how many times as much memory the race detector may take: its own is not the program's.
const memoryFactor = 4
