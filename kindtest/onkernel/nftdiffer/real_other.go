//go:build !linux

package nftdiffer

import "errors"

func newRealMachine() (machine, error) {
	return nil, errors.New("the tool nft that is compared with runs on Linux")
}
