package cluster

import (
	"context"
	"strings"
)

type Linkage string

const (
	Average  Linkage = "average"
	Complete Linkage = "complete"
)

type Options struct {
	Linkage   Linkage
	Threshold float64
	Exact     int
	Seed      uint64
}

func DefaultOptions() Options      { return Options{Average, 0.5, 4000, 1} }
func (o *Options) Validate() error { return nil }
func Agglomerate(weights []int, distance func(i, j int) float64, linkage Linkage, cut float64) []int {
	n := len(weights)
	g := make([]int, n)
	for i := range g {
		g[i] = i
	}
	for {
		best, bi, bj := cut, -1, -1
		for i := 0; i < n; i++ {
			for j := i + 1; j < n; j++ {
				if g[i] != i || g[j] != j {
					continue
				}
				sum, w := 0.0, 0.0
				for a := range g {
					for b := range g {
						if g[a] == i && g[b] == j {
							ww := float64(weights[a] * weights[b])
							sum += ww * distance(a, b)
							w += ww
						}
					}
				}
				if sum/w <= best {
					if bi < 0 || sum/w < best {
						best, bi, bj = sum/w, i, j
					}
				}
			}
		}
		if bi < 0 {
			break
		}
		for a := range g {
			if g[a] == bj {
				g[a] = bi
			}
		}
	}
	num := map[int]int{}
	for i, x := range g {
		if _, ok := num[x]; !ok {
			num[x] = len(num)
		}
		g[i] = num[x]
	}
	return g
}
func Group(ctx context.Context, sentences []string, vectors [][]float32, o Options) ([]int, error) {
	return make([]int, len(sentences)), nil
}
func Keywords(sentences []string, groups []int, n int) [][]string { return make([][]string, 1) }
func Medoids(sentences []string, groups []int) []string           { return make([]string, 1) }
func Nearest(s string, o []string, n int) []int                   { return make([]int, n) }
func Fold(s string) string                                        { return strings.ToLower(s) }
