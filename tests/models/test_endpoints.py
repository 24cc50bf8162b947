import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from curator_models.endpoints import ChatEndpoint, NoAnswerError


@pytest.mark.parametrize("start", ["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"])
def test_an_answer_that_drips_ends_with_the_time_out(start: str) -> None:
    hung_up = threading.Event()

    class Drips(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                self.wfile.write(start.encode())
                for _ in range(2000):
                    self.wfile.write(b"x")
                    threading.Event().wait(0.01)
            except OSError:
                hung_up.set()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Drips)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/v1"
        with pytest.raises(NoAnswerError, match="longer than"):
            ChatEndpoint(url, "any", timeout_s=0.3, attempts=1).ask("?", 5)
        assert hung_up.wait(30)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
