//go:build !race

package main

// memoryFactor: what is measured without the race detector is the program's.
const memoryFactor = 1
