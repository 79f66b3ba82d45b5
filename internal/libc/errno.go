package libc

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
)

// Strerror is the C library's text of an errno.
func Strerror(e syscall.Errno) string {
	switch e {
	case syscall.EINVAL:
		return "Invalid argument"
	case syscall.ENOENT:
		return "No such file or directory"
	case syscall.EBUSY:
		return "Device or resource busy"
	case syscall.EMLINK:
		return "Too many links"
	case syscall.EOPNOTSUPP:
		return "Operation not supported"
	case syscall.EEXIST:
		return "File exists"
	case syscall.ERANGE:
		return "Numerical result out of range"
	case syscall.ELOOP:
		return "Too many levels of symbolic links"
	case syscall.EACCES:
		return "Permission denied"
	case syscall.EISDIR:
		return "Is a directory"
	case syscall.ENOTDIR:
		return "Not a directory"
	}
	// Go's texts of the others begin with a small letter and are else the same.
	text := e.Error()
	return strings.ToUpper(text[:1]) + text[1:]
}

// FileErrorText is the C library's text of an error with a file.
func FileErrorText(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return Strerror(errno)
	case errors.Is(err, fs.ErrNotExist):
		return Strerror(syscall.ENOENT)
	case errors.Is(err, fs.ErrPermission):
		return Strerror(syscall.EACCES)
	}
	return err.Error()
}
