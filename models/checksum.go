package models

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// errChanged says that a manifest is not as it was written.
var errChanged = errors.New(ManifestFile + " was changed since it was written: its checksum is another; import or " +
	"copy the model again (or, if you changed it yourself, remove the line with its checksum)")

// errNoChecksum says that nothing tells whether a manifest is as it was written.
var errNoChecksum = errors.New(ManifestFile + " has no checksum, so that nothing says whether it was changed (it is " +
	"of an older program, or not of erreval); a copy has one: erreval models export MODEL FOLDER")

// noChecksum stands in the place of a manifest's checksum while it is computed.
var noChecksum = strings.Repeat("0", hex.EncodedLen(32))

var checksumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkSum compares the bytes of a manifest with the checksum in them, if there is one.
func (m *Manifest) checkSum(data []byte) error {
	if m.Checksum == "" {
		return nil
	}
	bare := bytes.Replace(data, []byte(m.Checksum), []byte(noChecksum), 1)
	if !checksumForm.MatchString(m.Checksum) || hashText(bare) != m.Checksum {
		return errChanged
	}
	return nil
}

// withChecksum gives the bytes of a manifest that has none its checksum, and leaves the others as they are.
func withChecksum(data []byte) []byte {
	bare := bytes.Replace(data, []byte("{"), fmt.Appendf(nil, "{\n \"checksum\": %q,", noChecksum), 1)
	return bytes.Replace(bare, []byte(noChecksum), []byte(hashText(bare)), 1)
}
