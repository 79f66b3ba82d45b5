package document

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func packed(t *testing.T, text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

func TestPlainReadsWhatPeopleHandOn(t *testing.T) {
	archive := strings.Repeat("\x00", 257) + "ustar\x0000" + strings.Repeat("\x00", 248)
	for _, tc := range []struct{ name, in, want, err string }{
		{name: "plain text", in: "a: é\n", want: "a: é\n"},
		{name: "nothing"},
		{name: "one byte", in: "\xff", want: "\xff"},
		{name: "a mark of UTF-8", in: "\xef\xbb\xbfa: 1\n", want: "a: 1\n"},
		{name: "UTF-16 of Windows", in: "\xff\xfea\x00\xe9\x00\r\x00\n\x00", want: "aé\r\n"},
		{name: "UTF-16 with the other byte first", in: "\xfe\xff\x00a\xd8\x3d\xde\x00", want: "a😀"},
		{name: "UTF-16 that was cut off within a character", in: "\xff\xfea\x00b", want: "a\ufffd"},
		{name: "gzip", in: packed(t, "a: 1\n"), want: "a: 1\n"},
		{name: "gzip of a text with a mark", in: packed(t, "\xef\xbb\xbfa: 1\n"), want: "a: 1\n"},
		{name: "gzip that was cut off", in: packed(t, "a: 1\n")[:12], err: "unexpected EOF"},
		{name: "no more than the mark of gzip", in: "\x1f\x8b", err: "unpack it"},
		{name: "an archive", in: archive, err: "unpack it"},
		{name: "a packed archive", in: packed(t, archive), err: "unpack it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "in")
			require.NoError(t, os.WriteFile(file, []byte(tc.in), 0o600))
			r, _, err := Open(file, nil)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(r)
				require.NoError(t, r.Close())
			}
			if tc.err != "" {
				assert.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(got))
			r, name, err := Open("-", strings.NewReader(tc.in))
			require.NoError(t, err)
			got, err = io.ReadAll(r)
			require.NoError(t, err)
			assert.Equal(t, "<stdin>", name)
			assert.Equal(t, tc.want, string(got))
		})
	}
}
