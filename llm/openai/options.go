package openai

import (
	"github.com/erreval/erreval/llm"
	"github.com/erreval/erreval/llm/vendor"
)

// Options say where an endpoint is. BaseURL is the address without /chat/completions. The key is sent as bearer token,
// or as api-key to Azure. AzureVersion, if set, is the api-version of an Azure deployment: BaseURL is then the resource
// ("https://NAME.openai.azure.com") and a request's model the name of the deployment.
type Options = vendor.Options

var openAI = vendor.Vendor{
	Name: vendor.Default, BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", BaseURLEnv: "OPENAI_BASE_URL",
	Validate: validate, New: func(o Options) (llm.Client, error) { return New(o) },
}

func init() { vendor.Register(openAI) }

// DefaultOptions are OpenAI's own address and two minutes a call. The key is missing.
func DefaultOptions() Options { return openAI.DefaultOptions() }

func validate(o Options) error {
	return o.Validate("https://api.openai.com/v1 or http://localhost:11434/v1", "/chat/completions")
}
