package report

// HasOneEach tells whether each system has at most one of a group's outputs. Then all of them are compared, as outputs
// for one input; otherwise those whose rows have the same fields but the judged one, such as questions on one passage
// with the same answer.
func HasOneEach[O any, S comparable](outputs []O, system func(O) S) bool {
	if len(outputs) < 2 {
		return true
	}
	seen := make(map[S]bool, len(outputs))
	for _, o := range outputs {
		s := system(o)
		if seen[s] {
			return false
		}
		seen[s] = true
	}
	return true
}
