package page

import "encoding/json"

// Item and Answer stand in for those of training/review until that package is here.
type (
	Item struct {
		ItemID     string          `json:"item_id"`
		Row        json.RawMessage `json:"row"`
		Proposed   *Proposed       `json:"proposed,omitempty"`
		TextSHA256 string          `json:"text_sha256"`
	}
	Proposed struct {
		Labels        []string           `json:"labels"`
		Probabilities map[string]float64 `json:"probabilities"`
	}
	Answer struct {
		ItemID     string   `json:"item_id"`
		Reviewer   string   `json:"reviewer"`
		Labels     []string `json:"labels"`
		Notes      string   `json:"notes"`
		Skipped    bool     `json:"skipped"`
		Time       string   `json:"time"`
		TextSHA256 string   `json:"text_sha256"`
	}
)
