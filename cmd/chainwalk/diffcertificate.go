package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chainwalk/chainwalk/forall"
	"github.com/chainwalk/chainwalk/forall/certify"
	"github.com/chainwalk/chainwalk/netfilter"
)

func addCertificateFlags(cmd *cobra.Command, o *diffOptions) {
	flags := cmd.Flags()
	flags.StringVar(&o.certificate, "certificate", "", "file to write a certificate to, which chainwalk verify checks")
	flags.IntVar(&o.mostBoxes, "most-boxes", certify.DefaultMostBoxes,
		"how many boxes of packets a certificate may have in each family and class")
}

// checkCertificate says what is wrong with the flags of certificates.
func (o *diffOptions) checkCertificate() error {
	if o.mostBoxes < 1 {
		return fmt.Errorf("--most-boxes %d: want 1 or more", o.mostBoxes)
	}
	return nil
}

// writeCertificate writes the certificate, if one is asked for.
func writeCertificate(o *diffOptions, sides [2]*hostSource, families []netfilter.Family, options *forall.Options) error {
	switch {
	case o.certificate == "":
		return nil
	case len(families) == 0:
		return errors.New("--certificate: neither side has any rules")
	}
	c, err := certify.Of(sides[0].input, sides[1].input, certify.Options{
		Families: families, Classes: options.Classes, Chance: options.Chance, Ignore: options.Ignore, MostBoxes: o.mostBoxes,
	})
	var many *certify.TooManyError
	if errors.As(err, &many) {
		return fmt.Errorf("%w (--most-boxes)", err)
	}
	if err != nil {
		return err
	}
	return writeWhole(o.certificate, c.Write)
}

// writeWhole writes a file, or leaves it as it is if that fails. What is no plain file, such as a pipe, is written to directly.
func writeWhole(file string, write func(io.Writer) error) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		to, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(to), to.Close())
	}
	whole, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(whole.Name()) }() // it is gone if all went well
	buffered := bufio.NewWriter(whole)
	if err := errors.Join(write(buffered), buffered.Flush(), whole.Chmod(0o644), whole.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(whole.Name(), file)
}
