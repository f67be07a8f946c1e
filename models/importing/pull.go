package importing

import (
	"context"
	"slices"
	"strings"

	"github.com/erreval/erreval/models/hub"
)

// Pull fetches a checkpoint from a hub and imports it. what is ORG/NAME or ORG/NAME@REVISION. The client's Cache ""
// means huggingface_hub's own. Pull sets the client's Select, and Source and Origin of o.
func Pull(ctx context.Context, client hub.Client, what string, o Options) (*Report, error) {
	// A pull may take long: check first what the import needs after it.
	_, err := o.Machine.LocateLibrary(o.Library)
	if err == nil && client.Cache == "" {
		client.Cache, err = hub.CacheDir(o.Machine.Getenv)
	}
	if err != nil {
		return nil, err
	}
	client.Select = selectWithCard
	repo, revision, _ := strings.Cut(what, "@")
	snapshot, err := client.Pull(ctx, repo, revision)
	if err != nil {
		return nil, err
	}
	o.Source, o.Origin = snapshot.Dir, snapshot.Repo+"@"+snapshot.Commit
	return Import(ctx, o)
}

// selectWithCard fetches the model card too, which names the licence.
func selectWithCard(names []string) ([]string, error) {
	picked, err := hub.SelectModel(names)
	if err == nil && slices.Contains(names, "README.md") {
		picked = append(picked, "README.md")
	}
	return picked, err
}
