package journal

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/erreval/erreval/llm"
)

const fence = "0123456789abcdef"

// asked is a request like those of a prompt template: instructions that all rows share, and a row's texts in fences.
func asked(row, passage, question string) *llm.Request {
	r := request("")
	instructions := strings.Repeat("Judge the question by the criteria, and say why. ", 40)
	r.Messages = []llm.Message{{Role: llm.System, Content: "You judge.", Fence: fence}, {Role: llm.User, Fence: fence,
		Content: instructions + "\nTexts stand between lines with " + fence + ".\n\nThe passage:\n[begin passage " + fence +
			"]\n" + passage + "\n[end passage " + fence + "]\n\nThe question:\n[begin question " + fence + "]\n" + question +
			"\n[end question " + fence + "]\n\n# Reply\nReply with JSON."}}
	r.Schema = &llm.Schema{Name: "verdict", JSON: []byte(`{"type":"object"}`)}
	r.Row, r.About = row, "clarity, error-aware, m"
	return r
}

func unchanged(text string) string { return text }

func keeping(t testing.TB, j *Journal, next llm.Client) *Client {
	t.Helper()
	c := j.Client(next, "")
	if err := c.KeepPrompts(unchanged); err != nil {
		t.Fatal(err)
	}
	return c
}

// said are the messages of a request as Prompts gives them.
func said(r *llm.Request) []llm.Message {
	all := []llm.Message{}
	for _, m := range r.Messages {
		all = append(all, llm.Message{Role: m.Role, Content: m.Content})
	}
	return append(all, llm.Message{Role: roleSchema, Content: string(r.Schema.JSON)})
}

// Prompts are kept with the calls that are made and with those that are replayed, in a journal that knew none too, and
// each is read as it was sent, with all replies.
func TestPrompts(t *testing.T) {
	path, passage := file(t), strings.Repeat("A wall was built. ", 20)
	j, endpoint := open(t, path), &counting{}
	first, second := asked("a", passage, "Who built it?"), asked("b", passage, "When?\nAnd why?")
	complete(t, j.Client(endpoint, ""), first)
	if all, err := j.Prompts("a"); all != nil || err != nil {
		t.Fatalf("prompts that nobody wanted: %v %v", all, err)
	}
	closed(t, j)
	j = open(t, path)
	c := keeping(t, j, meter(t, j, endpoint, Budget{}, nil))
	if reply := complete(t, c, first); !reply.Cached {
		t.Error("the call was made again")
	}
	reply := complete(t, c, second)
	if err := c.Reject(second, reply); err != nil {
		t.Fatal(err)
	}
	again := *second
	again.Attempt = 1
	complete(t, c, &again)
	other := *first // an equal call about another row
	other.Row = "a#2"
	complete(t, c, &other)
	for range 2 {
		for _, r := range []*llm.Request{first, second, &other} {
			all, err := j.Prompts(r.Row)
			if err != nil || len(all) != 1 || all[0].Row != r.Row || all[0].About != r.About {
				t.Fatalf("%s: %+v %v", r.Row, all, err)
			}
			if want := said(r); !reflect.DeepEqual(all[0].Messages, want) {
				t.Errorf("%s: got %q, want %q", r.Row, all[0].Messages, want)
			}
			if r == second && (len(all[0].Replies) != 2 || !all[0].Replies[0].Rejected || all[0].Replies[1].Rejected) {
				t.Errorf("replies %+v", all[0].Replies)
			}
		}
		closed(t, j)
		j = open(t, path)
	}
	if endpoint.calls.Load() != 3 {
		t.Errorf("%d calls, want 3", endpoint.calls.Load())
	}
	// Instructions and the passage of both rows are there once.
	var parts, withPassage int
	if err := j.store.reader.QueryRow("SELECT count(*), sum(size = ?) FROM part", len(passage)).Scan(&parts,
		&withPassage); err != nil || withPassage != 1 || parts > 20 {
		t.Errorf("%d parts, %d with the passage: %v", parts, withPassage, err)
	}
}

// What is cleaned is in no part, and what stands across parts is cleaned as well.
func TestCleanPrompts(t *testing.T) {
	path := file(t)
	j := open(t, path)
	for i, key := range []string{"sk-secret", "it?\n[end question " + fence} {
		c := j.Client(&counting{}, "")
		if err := c.KeepPrompts(strings.NewReplacer(key, "[key]").Replace); err != nil {
			t.Fatal(err)
		}
		r := asked(fmt.Sprint(i, " of sk-secret"), "The key is sk-secret.", "Who has it?")
		complete(t, c, r)
		all, err := j.Prompts(strings.ReplaceAll(r.Row, key, "[key]"))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if got, want := all[0].Messages[1].Content, strings.ReplaceAll(r.Messages[1].Content, key, "[key]"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A transaction that is undone takes the numbers of its parts with it.
func TestUndonePrompt(t *testing.T) {
	j := open(t, file(t))
	c := keeping(t, j, &counting{})
	r := asked("a", "A wall.", "Who?")
	id, err := hashCall("", r)
	if err != nil {
		t.Fatal(err)
	}
	undo := errors.New("undo")
	k := &keptPrompt{row: "a", messages: []keptMessage{{llm.User, c.cleanParts(r.Messages[1].Content, fence)}}, id: id}
	if err := j.store.writeChange(change{apply: func(tx *transaction) error {
		return errors.Join(tx.writePrompt(k), undo)
	}}); !errors.Is(err, undo) {
		t.Fatal(err)
	}
	complete(t, c, asked("b", "A tower.", "When?"))
	complete(t, c, r)
	for _, row := range []string{"a", "b"} {
		if all, err := j.Prompts(row); err != nil || len(all) != 1 {
			t.Errorf("%s: %v %v", row, all, err)
		}
	}
}

const promptRows = 9

func writtenPrompts(t *testing.T, path string) {
	t.Helper()
	j := open(t, path)
	c := keeping(t, j, &counting{})
	for i := range promptRows {
		passage := strings.Repeat(fmt.Sprint("Wall ", i/4, ". "), 30)
		complete(t, c, asked(fmt.Sprint(i), passage, fmt.Sprint("Who built ", i, "?")))
	}
	closed(t, j)
}

func readPrompts(path string) (all []Prompt, err error) {
	j, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer j.Close()
	for i := range promptRows {
		of, err := j.Prompts(fmt.Sprint(i))
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// A changed value of a prompt or of a part is refused with the name of the journal and of the row.
func TestChangedPrompts(t *testing.T) {
	for _, change := range []string{
		"UPDATE part SET text = zeroblob(length(text)) WHERE number = 4",
		"UPDATE part SET text = zeroblob(9), size = 9 WHERE number = 4",
		"UPDATE part SET size = size + 1 WHERE number = 4",
		"UPDATE part SET size = 'much' WHERE number = 4",
		"UPDATE part SET hash = zeroblob(32) WHERE number = 4",
		"UPDATE part SET number = 9999 WHERE number = 4",
		"DELETE FROM part WHERE number = 4",
		"UPDATE prompt SET about = 'x' WHERE row_id = '7'",
		"UPDATE prompt SET row_id = '7', about = 'x' WHERE row_id = '8'",
		"UPDATE prompt SET messages = x'0200' WHERE row_id = '7'",
		"UPDATE prompt SET messages = x'ffffffffffffffffffff01' WHERE row_id = '7'",
		"UPDATE prompt SET messages = (SELECT messages FROM prompt WHERE row_id = '8') WHERE row_id = '7'",
		"UPDATE prompt SET call = zeroblob(32) WHERE row_id = '7'",
		"UPDATE prompt SET checksum = x'' WHERE row_id = '7'",
	} {
		path := file(t)
		writtenPrompts(t, path)
		execute(t, path, change)
		_, err := readPrompts(path)
		if err == nil || !strings.Contains(err.Error(), "a prompt about row ") || !strings.Contains(err.Error(), path) ||
			!errors.Is(err, errDamaged) {
			t.Errorf("%s: got %v", change, err)
		}
		if c, err := Verify(path); err == nil || !strings.Contains(err.Error(), "prompt") || !errors.Is(err, errDamaged) {
			t.Errorf("%s: verify says %+v, %v", change, c, err)
		}
	}
}

// A journal with prompts in which a byte was changed is refused by name, or reads as before.
func TestChangedBytesOfPrompts(t *testing.T) {
	t.Parallel()
	path := file(t)
	writtenPrompts(t, path)
	want, err := readPrompts(path)
	if err != nil || len(want) != promptRows {
		t.Fatal(want, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	refused, flips := 0, rounds(150)
	for range flips {
		at := random.IntN(len(whole))
		changed := []byte(string(whole))
		changed[at] ^= byte(1 + random.IntN(255))
		for _, beside := range []string{"-wal", "-shm"} {
			_ = os.Remove(path + beside)
		}
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		c, fault := Verify(path)
		got, err := readPrompts(path)
		if fault == nil && (err != nil || c.Prompts != promptRows) {
			t.Errorf("byte %d: verify says %+v, and reading: %v", at, c, err)
		}
		switch {
		case err != nil && !strings.Contains(err.Error(), path):
			t.Errorf("byte %d: the journal is not named: %v", at, err)
		case err != nil:
			refused++
		case !reflect.DeepEqual(got, want):
			t.Errorf("byte %d from %#x to %#x: the journal reads otherwise", at, whole[at], changed[at])
		}
	}
	t.Logf("%d of %d changes are refused, the others change nothing; %d bytes", refused, flips, len(whole))
	if refused < flips/20 {
		t.Errorf("only %d of %d changes are refused", refused, flips)
	}
}

// A journal of the format before checksums gets prompts too.
func TestPromptsOfOldJournal(t *testing.T) {
	path := file(t)
	j := open(t, path)
	r := asked("a", "A wall.", "Who?")
	complete(t, j.Client(&counting{}, ""), r)
	closed(t, j)
	drop := []string{fmt.Sprintf("PRAGMA user_version = %d", unchecked), "DROP TABLE claim"}
	for _, table := range []string{"reply", "account", "setting"} {
		drop = append(drop, "ALTER TABLE "+table+" DROP COLUMN checksum")
	}
	execute(t, path, drop...)
	j = open(t, path)
	if reply := complete(t, keeping(t, j, &counting{}), r); !reply.Cached {
		t.Error("the call was made again")
	}
	if all, err := j.Prompts("a"); err != nil || len(all) != 1 || len(all[0].Replies) != 1 {
		t.Error(all, err)
	}
}

// A part that unpacks to more than a prompt may have ends there.
func TestPartThatUnpacksToMuch(t *testing.T) {
	t.Parallel()
	var once bytes.Buffer
	w, err := flate.NewWriter(&once, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil { // so that it can stand there again
		t.Fatal(err)
	}
	packed := bytes.Repeat(once.Bytes(), 300)
	for _, size := range []int64{-1, 300 << 20} {
		if _, err := unpackPart(make([]byte, sha256.Size), size, packed); !errors.Is(err, errDamaged) {
			t.Errorf("%d: %v", size, err)
		}
	}
}

func FuzzPrompt(f *testing.F) {
	f.Add([]byte("\x08user\x02\x02"), "a text\nwith 01 lines\n[01]\nx", "01", int64(7))
	f.Add([]byte("\x0csystem\x04\x02\x04\x08user\x00"), "", "", int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, text, fence string, size int64) {
		if all := splitText(text, fence); strings.Join(all, "") != text {
			t.Fatalf("%q are not %q", all, text)
		}
		read := 0
		messages, err := parseMessages(data, func(number int64) (string, error) {
			if read++; number == 13 {
				return "", errDamaged
			}
			return fmt.Sprint(number), nil
		})
		if read > len(data) || len(messages) > len(data) {
			t.Fatalf("%d parts of %d messages from %d bytes", read, len(messages), len(data))
		}
		if err != nil && !errors.Is(err, errDamaged) {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(text))
		if got, err := unpackPart(sum[:], size, data); err == nil && got != text {
			t.Fatalf("%q in the place of %q", got, text)
		}
		p := &prompts{}
		p.packer, _ = flate.NewWriter(nil, flate.DefaultCompression)
		packed, err := p.pack(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unpackPart(sum[:], int64(len(text)), packed); err != nil || got != text {
			t.Fatalf("%q comes back as %q: %v", text, got, err)
		}
	})
}
