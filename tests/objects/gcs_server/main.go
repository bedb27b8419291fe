// A server of Google Cloud Storage for tests: fake-gcs-server behind the part of the XML API that Dray uses.
//
// fake-gcs-server implements the JSON API and stores the objects; its preconditions are checked under a lock.
// Dray's client speaks the XML API, of which fake-gcs-server lacks uploads of objects, pages of a listing and
// the bodies of errors. This program translates those as Google documents them. Everything else passes through.
//
// It prints its address when it accepts connections, and ends when its standard input is closed.
package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

const pageMax = 1000

type server struct {
	fake http.Handler
}

type object struct {
	Name       string `json:"name" xml:"Key"`
	Generation string `json:"generation" xml:"Generation"`
	Updated    string `json:"updated" xml:"LastModified"`
	Etag       string `json:"etag" xml:"ETag"`
	Size       string `json:"size" xml:"Size"`
}

type listing struct {
	XMLName       xml.Name `xml:"ListBucketResult" json:"-"`
	NextPageToken string   `json:"nextPageToken" xml:"NextContinuationToken,omitempty"`
	IsTruncated   bool     `json:"-"`
	Items         []object `json:"items" xml:"Contents"`
}

type refusal struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	address := listener.Addr().String()
	fake, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener: true, ExternalURL: "http://" + address, PublicHost: address,
	})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	fmt.Println(address)
	log.Fatal(http.Serve(listener, server{fake.HTTPHandler()}))
}

func (s server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, name, hasName := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket == "storage" || bucket == "upload" || bucket == "download":
		s.fake.ServeHTTP(w, r)
	case hasName && r.Method == http.MethodPut:
		s.upload(w, r, bucket, name)
	case hasName && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodDelete):
		s.pass(w, r, bucket)
	case !hasName && r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2":
		s.list(w, r, bucket)
	default:
		refuse(w, http.StatusNotImplemented, "NotImplemented", r.Method+" "+r.URL.String())
	}
}

// upload stores an object, if its generation is the one that the client expects (0: there is none).
func (s server) upload(w http.ResponseWriter, r *http.Request, bucket, name string) {
	query := url.Values{"uploadType": {"media"}, "name": {name}}
	if generation := r.Header.Get("X-Goog-If-Generation-Match"); generation != "" {
		query.Set("ifGenerationMatch", generation)
	}
	answer := s.ask(r, http.MethodPost, "/upload/storage/v1/b/"+url.PathEscape(bucket)+"/o", query, r.Body)
	var stored object
	switch {
	case answer.Code == http.StatusPreconditionFailed:
		refuse(w, answer.Code, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
	case answer.Code == http.StatusNotFound:
		refuse(w, answer.Code, "NoSuchBucket", "The specified bucket does not exist.")
	case answer.Code != http.StatusOK || json.Unmarshal(answer.Body.Bytes(), &stored) != nil:
		refuse(w, http.StatusInternalServerError, "InternalError", answer.Body.String())
	default:
		w.Header().Set("ETag", strconv.Quote(stored.Etag))
		w.Header().Set("X-Goog-Generation", stored.Generation)
	}
}

// pass answers with the fake's response, but with the XML API's body for what is missing.
func (s server) pass(w http.ResponseWriter, r *http.Request, bucket string) {
	answer := httptest.NewRecorder()
	s.fake.ServeHTTP(answer, r)
	if answer.Code == http.StatusNotFound {
		if s.ask(r, http.MethodGet, "/storage/v1/b/"+url.PathEscape(bucket), nil, nil).Code == http.StatusNotFound {
			refuse(w, answer.Code, "NoSuchBucket", "The specified bucket does not exist.")
		} else {
			refuse(w, answer.Code, "NoSuchKey", "The specified key does not exist.")
		}
		return
	}
	for header, values := range answer.Header() {
		w.Header()[header] = values
	}
	w.WriteHeader(answer.Code)
	io.Copy(w, answer.Body)
}

// list answers with one page of the bucket.
func (s server) list(w http.ResponseWriter, r *http.Request, bucket string) {
	asked := r.URL.Query()
	query := url.Values{"prefix": {asked.Get("prefix")}, "maxResults": {strconv.Itoa(pageMax)}}
	if token := asked.Get("continuation-token"); token != "" {
		query.Set("pageToken", token)
	} else if after := asked.Get("start-after"); after != "" {
		query.Set("startOffset", after+"\x00") // the JSON API includes the offset
	}
	answer := s.ask(r, http.MethodGet, "/storage/v1/b/"+url.PathEscape(bucket)+"/o", query, nil)
	var page listing
	if answer.Code == http.StatusNotFound {
		refuse(w, answer.Code, "NoSuchBucket", "The specified bucket does not exist.")
		return
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &page); err != nil || answer.Code != http.StatusOK {
		refuse(w, http.StatusInternalServerError, "InternalError", answer.Body.String())
		return
	}
	page.IsTruncated = page.NextPageToken != ""
	write(w, http.StatusOK, page)
}

// ask sends a request of the JSON API to the fake.
func (s server) ask(r *http.Request, method, path string, query url.Values, body io.Reader) *httptest.ResponseRecorder {
	target := path
	if query != nil {
		target += "?" + query.Encode()
	}
	request := httptest.NewRequest(method, target, body).WithContext(r.Context())
	request.Host = r.Host
	if kind := r.Header.Get("Content-Type"); kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	answer := httptest.NewRecorder()
	s.fake.ServeHTTP(answer, request)
	return answer
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	write(w, status, refusal{Code: code, Message: message})
}

func write(w http.ResponseWriter, status int, body any) {
	content, err := xml.Marshal(body)
	if err != nil {
		log.Print(err)
		status = http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/xml; charset=UTF-8")
	w.WriteHeader(status)
	w.Write(append([]byte(xml.Header), content...))
}
