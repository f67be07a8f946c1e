package journal

import (
	"testing"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/llmtest"
)

func TestConformance(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		llmtest.TestClient(t, func(t *testing.T, next llm.Client) llm.Client { return open(t, file(t)).Client(next, "") })
	})
	t.Run("meter", func(t *testing.T) {
		llmtest.TestClient(t, func(t *testing.T, next llm.Client) llm.Client {
			return meter(t, open(t, file(t)), next, Budget{MaxCalls: ptr(int64(1e6))}, nil)
		})
	})
	t.Run("both", func(t *testing.T) {
		llmtest.TestClient(t, func(t *testing.T, next llm.Client) llm.Client {
			j := open(t, file(t))
			return j.Client(meter(t, j, next, Budget{}, nil), "")
		})
	})
}
