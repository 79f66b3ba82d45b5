//go:build !linux

package differ

import (
	"context"
	"errors"
	"io"
)

func (*Search) compare(context.Context, *summary, io.Writer) (fits bool, err error) {
	return false, errors.New("the kernel that rules are compared with is Linux")
}
