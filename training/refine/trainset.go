package refine

import "github.com/erreval/erreval/dataset"

// EachTraining calls f for the rows of the training set, with the file that each is from. A text that several files
// have counts once, as the last of them has it: a row reviewed again takes the place of the one whose labels were
// doubtful.
func (w *Workspace) EachTraining(f func(file string, row *dataset.Row) error) error {
	files, err := w.TrainFiles()
	if err != nil {
		return err
	}
	last := map[string]int{} // text to the number of its last file
	for i, file := range files {
		if err := w.EachRow(file, func(row *dataset.Row) error { last[row.TextHash()] = i; return nil }); err != nil {
			return err
		}
	}
	for i, file := range files {
		err := w.EachRow(file, func(row *dataset.Row) error {
			if last[row.TextHash()] != i {
				return nil
			}
			return f(file, row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
