package page

import (
	"context"
	"os/exec"
	"runtime"
)

// OpenBrowser opens an address where the system is known to have a command for that, else it does nothing. The browser stays
// when ctx ends: it is the user's.
func OpenBrowser(ctx context.Context, address string) error {
	program := map[string]string{"darwin": "open", "linux": "xdg-open"}[runtime.GOOS]
	if program == "" {
		return nil
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, address)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // how the browser ends is nobody's business here
	return nil
}
