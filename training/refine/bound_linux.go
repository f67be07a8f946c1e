package refine

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startBound starts a process that ends with this one, even if this one is killed: a trainer left alone would be in the
// way of the one that goes on. Linux sends the signal when the thread ends that started the process, so one is kept
// until end.
func startBound(cmd *exec.Cmd) (end func(), err error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if started <- err; err == nil {
			<-ended
		}
	}()
	return func() { close(ended) }, <-started
}
