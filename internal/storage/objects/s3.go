package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a bucket of a server that speaks S3's API.
type bucket struct {
	client minio.Core
	name   string
}

// buckets are those opened, by address: each keeps its connections, and keys that the machine gave for an hour.
var buckets sync.Map

// openBucket gives the bucket of an address, whatever its key.
func openBucket(u *url.URL) (*bucket, error) {
	at := u.Host + "?" + u.RawQuery
	if b, there := buckets.Load(at); there {
		return b.(*bucket), nil //nolint:forcetypeassert // nothing else is in it
	}
	b, err := newBucket(u)
	if err != nil {
		return nil, err
	}
	buckets.Store(at, b)
	return b, nil
}

// newBucket reads what may stand behind the ? of an address. Keys of access come from where AWS's own programs have
// them: the environment, the files below ~/.aws, the machine.
func newBucket(u *url.URL) (*bucket, error) {
	query := u.Query()
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	o := &minio.Options{MaxRetries: 1, Region: query.Get("region")} // again tries again
	profile := ""
	for _, name := range slices.Sorted(maps.Keys(query)) {
		value, err := query.Get(name), error(nil)
		switch name {
		case "endpoint":
			endpoint, err = url.Parse(value)
			if err == nil && (endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http") {
				err = errors.New("give https://HOST")
			}
		case "region":
		case "profile":
			profile = value
		case "use_path_style", "s3ForcePathStyle":
			var yes bool
			if yes, err = strconv.ParseBool(value); yes {
				o.BucketLookup = minio.BucketLookupPath
			}
		default:
			err = errors.New("there is no such option; there are endpoint, profile, region and use_path_style")
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", name, value, err)
		}
	}
	if o.Region == "" {
		o.Region = setting("AWS_REGION", "AWS_DEFAULT_REGION")
	}
	o.Secure, o.Creds = endpoint.Scheme == "https", keys(profile)
	client, err := minio.NewCore(endpoint.Host, o)
	if err != nil {
		return nil, err
	}
	return &bucket{*client, u.Host}, nil
}

// setting is the first of the environment variables that is set. minio-go reads those with the keys itself.
func setting(names ...string) string {
	for _, name := range names {
		if value := os.Getenv(name); value != "" { //nolint:forbidigo // addresses stand where no Process reaches
			return value
		}
	}
	return ""
}

// keys looks for keys of access where AWS's own programs do. Without any, requests are anonymous.
func keys(profile string) *credentials.Credentials {
	file := &credentials.FileAWSCredentials{Profile: profile}
	if profile != "" {
		return credentials.New(file)
	}
	places := []credentials.Provider{&credentials.EnvAWS{}, file}
	if setting("AWS_EC2_METADATA_DISABLED") != "true" {
		places = append(places, &credentials.IAM{})
	}
	return credentials.NewChainCredentials(places)
}

func (b *bucket) stat(ctx context.Context, key string) (*Info, error) {
	o, err := b.client.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	if err != nil {
		return nil, s3Error(err)
	}
	return &Info{path.Base(key), o.Size, o.LastModified}, nil
}

func (b *bucket) read(ctx context.Context, key string, from, length int64) (io.ReadCloser, *Info, error) {
	var o minio.GetObjectOptions
	if from > 0 || length >= 0 {
		end := from + length - 1
		if length < 0 {
			end = 0 // open
		}
		if err := o.SetRange(from, end); err != nil {
			return nil, nil, err
		}
	}
	body, got, header, err := b.client.GetObject(ctx, b.name, key, o)
	if err != nil {
		return nil, nil, s3Error(err)
	}
	info := &Info{path.Base(key), got.Size, got.LastModified}
	if _, total, found := strings.Cut(header.Get("Content-Range"), "/"); found {
		if info.size, err = strconv.ParseInt(total, 10, 64); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("its length is unknown: %w", err), body.Close())
		}
	}
	return body, info, nil
}

func (b *bucket) list(ctx context.Context, prefix string) (found []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing after an error
	for o := range b.client.Client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, s3Error(o.Err)
		}
		found = append(found, o.Key)
	}
	return found, nil
}

func (b *bucket) put(ctx context.Context, key string, file *os.File, replace bool) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// An MD5 in place of signatures inside the body on plain HTTP, which simple servers do not read.
	o := minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true, SendContentMd5: true}
	if !replace {
		o.SetMatchETagExcept("*")
	}
	_, err = b.client.Client.PutObject(ctx, b.name, key, file, info.Size(), o)
	return s3Error(err)
}

// s3Error says in the standard library's words what a server answered.
func s3Error(err error) error {
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		return err
	}
	switch code := answer.StatusCode; {
	case code == http.StatusNotFound:
		return errors.Join(fs.ErrNotExist, err)
	case code == http.StatusPreconditionFailed:
		return errors.Join(fs.ErrExist, err)
	case code == http.StatusForbidden, code == http.StatusUnauthorized:
		return errors.Join(fs.ErrPermission, err)
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests &&
		code != http.StatusConflict: // another conditional put is under way
		return &lastingError{err}
	}
	return err
}
