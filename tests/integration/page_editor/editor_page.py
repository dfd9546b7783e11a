"""The editor of flows in headless Chromium, as somebody in front of it sees and uses it. Each wait has a deadline and says what did not come."""
import contextlib
import http.client
import json
import pathlib
import socket
import sys
import tempfile
import time

from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

WAIT_S = 30
MOST_TABS = 200


def fail(what):
    sys.exit(what)


@contextlib.contextmanager
def downloads_of(driver):
    """The folder that a browser writes to."""
    with tempfile.TemporaryDirectory(prefix="orchid-downloads-", dir="/tmp") as folder:
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": folder})
        yield pathlib.Path(folder)


class OverSocket(http.client.HTTPConnection):
    """To a gateway, as the user who runs it."""

    def __init__(self, site):
        super().__init__("orchid", timeout=WAIT_S)
        self.path = site.folder / "gateway.sock"

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT_S)
        self.sock.connect(str(self.path))


def link_of(site):
    """Where a browser goes to be logged in, once."""
    with contextlib.closing(OverSocket(site)) as connection:
        connection.request("POST", "/v1/page/links")
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 201:
            fail(f"no link: {answer.status} {text}")
        return site.ready["urls"][0] + json.loads(text)["path"]


class EditorPage:
    def __init__(self, driver, downloads, address):
        self.driver, self.downloads, self.address = driver, downloads, address

    def open(self):
        self.driver.get(f"{self.address}/flows/edit")
        self.wait(lambda: self.script("return document.body.dataset.ready"), "the editor is ready")

    def log_in(self, site):
        self.driver.get(link_of(site))
        self.wait(lambda: self.script("return document.querySelector('header') !== null && !location.hash.startsWith('#link')"), "the page is open")

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def wait(self, condition, what):
        """Until it holds; returns its value."""
        give_up = time.monotonic() + WAIT_S
        while True:
            try:
                value = condition()
            except WebDriverException as error:
                value, seen = None, error
            else:
                seen = value
            if value:
                return value
            if time.monotonic() > give_up:
                fail(f"not within {WAIT_S} s: {what}; last {seen!r}\n{self.state()}")
            time.sleep(0.02)

    def state(self):
        logged = "\n".join(f"{one['level']}: {one['message']}" for one in self.driver.get_log("browser"))
        return f"told: {self.told()}\nverdict: {self.verdict()}\nfocus: {self.focus()}\ntext:\n{self.text()}\nconsole:\n{logged}"

    def expect(self, holds, what):
        if not holds:
            fail(f"{what}\n{self.state()}")

    # What is seen.

    def text(self):
        return self.script("return document.querySelector('.CodeMirror').CodeMirror.getValue()")

    def told(self):
        return self.script("return document.getElementById('told').textContent")

    def verdict(self):
        return self.script("return document.getElementById('verdict').textContent")

    def faults(self):
        return self.script("return [...document.querySelectorAll('#faults button')].map((one) => one.textContent)")

    def fault_lines(self):
        """Those that are marked beside the text, from 1."""
        return self.script("""const editor = document.querySelector('.CodeMirror').CodeMirror;
            return [...Array(editor.lineCount()).keys()].filter((line) => editor.lineInfo(line).gutterMarkers?.faults).map((line) => line + 1)""")

    def boxes(self):
        return self.script("return [...document.querySelectorAll('#canvas .box')].map((one) => one.dataset.key).sort()")

    def links(self):
        return self.script("return [...document.querySelectorAll('#canvas .link title')].map((one) => one.textContent).sort()")

    def focus(self):
        return self.script("const one = document.activeElement; return one.dataset.key || one.id || one.tagName")

    def form(self):
        """The title of the form of what is chosen."""
        return self.script("return document.querySelector('#panel h2').textContent")

    def await_form(self, title):
        self.wait(lambda: self.form() == title, f"the form is '{title}'")

    def await_text(self, part):
        self.wait(lambda: part in self.text(), f"'{part}' is in the text")

    def await_box(self, key, is_there=True):
        self.wait(lambda: (key in self.boxes()) == is_there, f"{key} is {'' if is_there else 'not '}drawn")

    def await_verdict(self, wanted):
        """Of the text that is there now."""
        self.wait(lambda: wanted in self.verdict(), f"the verdict is '{wanted}'")

    # What is done.

    def press(self, *keys):
        actions = ActionChains(self.driver)
        for one in keys:
            actions.send_keys(one)
        actions.perform()

    def chord(self, modifier, key):
        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def tab_to(self, wanted, back=False):
        """As somebody without a mouse gets there."""
        for _ in range(MOST_TABS):
            if self.focus() == wanted:
                return
            if back:
                self.chord(Keys.SHIFT, Keys.TAB)
            else:
                self.press(Keys.TAB)
        fail(f"Tab does not lead to {wanted}\n{self.state()}")

    def fill(self, field, text, back=False):
        """A field of a form, which Tab leads to; it is left with Tab."""
        self.tab_to(field, back)
        self.chord(Keys.CONTROL, "a")
        self.press(text, Keys.TAB)

    def click(self, identity):
        """Whatever is drawn anew between the look and the click is looked for again."""
        def is_clicked():
            try:
                self.driver.find_element(By.ID, identity).click()
            except StaleElementReferenceException:
                return False
            return True
        self.wait(is_clicked, f"{identity} is clicked")

    def element(self, key):
        return self.script("return [...document.querySelectorAll('[data-key]')].find((one) => one.dataset.key === arguments[0])", key)

    def settle(self):
        """Until the text is checked and drawn: then what is seen stays."""
        self.wait(lambda: self.verdict() != "checking …" and self.script("return document.getElementById('canvas').getAttribute('aria-busy')") == "false",
                  "the flow is checked and drawn")

    def click_on(self, key):
        self.settle()
        self.element(key).click()

    def click_beside(self, identity):
        """In the corner of an element, where no box is."""
        self.settle()
        x, y = self.script("const {right, bottom} = document.getElementById(arguments[0]).getBoundingClientRect(); return [right - 4, bottom - 4]", identity)
        actions = ActionChains(self.driver)
        actions.w3c_actions.pointer_action.move_to_location(int(x), int(y)).click()
        actions.perform()

    def drag(self, begin, end):
        """With the mouse, from the circle of one to that of the other."""
        self.settle()
        circles = [self.script("return arguments[0].querySelector('circle')", self.element(key)) for key in (begin, end)]
        ActionChains(self.driver).move_to_element(circles[0]).click_and_hold().move_to_element(circles[1]).release().perform()

    def write(self, text):
        """The whole text, as somebody who pastes it."""
        self.script("document.querySelector('.CodeMirror').CodeMirror.setValue(arguments[0])", text)

    def downloaded(self, name):
        path = self.downloads / name
        self.wait(path.is_file, f"{name} is downloaded")
        text = path.read_text()
        path.unlink()
        return text
