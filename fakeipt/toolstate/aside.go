package toolstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// setAside gives the file of an unusable part another name, so that the tool and all after it go on without, and returns what is to be said
// of it. Where the folder may not be written the file stays, and is passed by.
func (s *Store) setAside(p part, why *unusable) (string, error) {
	path, left := s.path(p), "rules"
	if p == objects {
		left = "sets and accounting objects"
	}
	aside, err := freeName(path + ".damaged")
	if err == nil {
		err = os.Rename(path, aside)
	}
	switch {
	case isReadOnly(err):
		return fmt.Sprintf("%s cannot be used: %s; it may not be put aside, and is passed by: there are no %s", path, why, left), nil
	case err != nil:
		return "", fmt.Errorf("putting aside the state, which cannot be used: %w", err)
	}
	return fmt.Sprintf("%s cannot be used: %s; it was put aside as %s, and the tools begin with no %s", path, why, aside, left), nil
}

// freeName is the name, or else the name with the first number behind it that no file has.
func freeName(name string) (string, error) {
	free := name
	for n := 2; ; n++ {
		_, err := os.Lstat(free)
		if errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
		if err != nil {
			return "", err
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}
