package bpe

// alphabet gives each byte the character that stands for it in a vocabulary: itself if it is printable and no space
// in Latin-1, else one from U+0100 on, as in the encoder of GPT-2.
var alphabet = func() (a [256]rune) {
	moved := rune(256)
	for b := range a {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			a[b] = rune(b)
		default:
			a[b] = moved
			moved++
		}
	}
	return a
}()

var alphabetBytes = func() map[rune]byte {
	m := make(map[rune]byte, len(alphabet))
	for b, r := range alphabet {
		m[r] = byte(b)
	}
	return m
}()

// tokenBytes returns the bytes that a token stands for; false if it has characters outside the alphabet.
func tokenBytes(token string) ([]byte, bool) {
	text := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := alphabetBytes[r]
		if !ok {
			return nil, false
		}
		text = append(text, b)
	}
	return text, true
}
