package main

import (
	"strings"

	_ "github.com/erreval/erreval/llm/anthropic" // each of these registers a vendor
	_ "github.com/erreval/erreval/llm/openai"
	"github.com/erreval/erreval/llm/vendor"
)

// vendors are those that the program knows, the usual one first.
func vendors() []*vendor.Vendor {
	var out []*vendor.Vendor
	for _, name := range vendor.Names() {
		v, err := vendor.Find(name)
		if err != nil {
			panic(err) // it was there a moment ago
		}
		out = append(out, v)
	}
	return out
}

// usualKey is the environment variable with the key of the vendor that is meant where nobody names one.
func usualKey() string { return vendors()[0].KeyEnv }

// keyVariables names the environment variables with keys: "A or B".
func keyVariables() string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.KeyEnv)
	}
	return strings.Join(names, " or ")
}

// baseURLVariables are the environment variables with addresses.
func baseURLVariables() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.BaseURLEnv)
	}
	return names
}
