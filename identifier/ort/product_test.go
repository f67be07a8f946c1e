package ort_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/erreval/erreval/identifier/ort"
	"github.com/erreval/erreval/identifier/ort/orttest"
)

func TestProduct(t *testing.T) {
	for _, p := range []ort.Product{{M: 7, K: 64, N: 32}, {Int8: true, M: 7, K: 64, N: 32}} {
		if got, want := p.Operations(), 2.*7*64*32; got != want {
			t.Errorf("%v operations, want %v", got, want)
		}
		r, err := ort.OpenProduct(orttest.Library(t), p)
		if err != nil {
			t.Fatal(err)
		}
		rate, err := r.Rate(t.Context(), 2, 5*time.Millisecond)
		if err != nil || !(rate > 1e6 && rate < 1e15) {
			t.Errorf("%+v: %g operations a second, %v", p, rate, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Rate(ctx, 1, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := ort.OpenProduct(orttest.Library(t), ort.Product{M: 1, K: 0, N: 1}); err == nil {
		t.Error("an empty product was opened")
	}
}
