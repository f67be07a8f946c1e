package anthropic

import (
	"errors"

	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// Options say where an endpoint is. BaseURL is the address without /v1/messages. The key is sent as x-api-key. This API
// has no AzureVersion.
type Options = vendor.Options

const baseURL = "https://api.anthropic.com"

var anthropic = vendor.Vendor{
	Name: "anthropic", BaseURL: baseURL, KeyEnv: "ANTHROPIC_API_KEY", BaseURLEnv: "ANTHROPIC_BASE_URL",
	Validate: validate, New: func(o Options) (llm.Client, error) { return New(o) },
}

func init() { vendor.Register(anthropic) }

// DefaultOptions are Anthropic's own address and two minutes a call. The key is missing.
func DefaultOptions() Options { return anthropic.DefaultOptions() }

func validate(o Options) error {
	err := o.Validate(baseURL, callPath, "/v1")
	if o.AzureVersion != "" {
		err = errors.Join(err, errors.New("endpoint: the Messages API has no azure_version: leave it out"))
	}
	return err
}
