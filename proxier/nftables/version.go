package nftables

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
)

// versionInOutput is how nft begins what it says of its version: "nftables v1.0.6 (Lester Gooch #5)". A version may have a fourth number.
var versionInOutput = regexp.MustCompile(`^nftables v([0-9]+)\.([0-9]+)\.([0-9]+)`)

// checkVersion refuses a tool before 1.0.1: it parses the tables of everybody, whatever it is asked for
// (https://issue.k8s.io/122743).
func (r *Runner) checkVersion() error {
	output, err := r.run(nil, "--version")
	if err != nil {
		return err
	}
	return usable(string(output))
}

// usable judges what nft says of its version. A text without a number, as of a build from a checkout, is taken for a new one.
func usable(output string) error {
	found := versionInOutput.FindStringSubmatch(output)
	if found == nil {
		return nil
	}
	number := 0
	for _, text := range found[1:] {
		part, err := strconv.Atoi(text)
		if err != nil || part > 999 {
			return nil // beyond every version that is too old
		}
		number = number*1000 + part
	}
	if number < 1_000_001 {
		return fmt.Errorf("nft %s.%s.%s is too old: install nft 1.0.1 or later", found[1], found[2], found[3])
	}
	return nil
}

// releaseOfKernel is how the release of a kernel begins.
var releaseOfKernel = regexp.MustCompile(`^([0-9]+)\.([0-9]+)`)

// checkKernel refuses a kernel before 5.13. The machine's own nft is likely to be as old, and may no longer work once there are tables of a
// newer one (https://issue.k8s.io/122743).
func checkKernel(release string) error {
	if release == "" {
		return nil
	}
	found := releaseOfKernel.FindStringSubmatch(release)
	if found == nil {
		return fmt.Errorf("kernel release %q: a number is missing", release)
	}
	major, errMajor := strconv.Atoi(found[1])
	minor, errMinor := strconv.Atoi(found[2])
	if err := errors.Join(errMajor, errMinor); err != nil {
		return fmt.Errorf("kernel release %q: %w", release, err)
	}
	if major < 5 || major == 5 && minor < 13 {
		return fmt.Errorf("kernel %s is too old for mode nftables: it takes Linux 5.13 or later", release)
	}
	return nil
}
