"""A Chromium without a screen for tests: a folder of its own, ports by the kernel, a deadline on each wait, no process left."""
import contextlib
import os
import pathlib
import signal
import sys
import tempfile
import time

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from gateway_process import wait_for
from processes import alive, family

DRIVER, CHROMIUM = "/usr/bin/chromedriver", "/usr/bin/chromium"
END_DEADLINE_S = 15


class Browser:
    def __init__(self, driver):
        self.driver = driver

    def open(self, url):
        # An address that differs behind '#' alone would load nothing.
        self.driver.get("about:blank")
        self.driver.get(url)

    def texts(self, selector):
        """Of all elements that are seen."""
        try:
            return [one.text for one in self.driver.find_elements(By.CSS_SELECTOR, selector) if one.is_displayed()]
        except StaleElementReferenceException:
            return []

    def text(self, selector):
        return "\n".join(self.texts(selector))

    def one(self, selector):
        self.await_some(selector)
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def await_some(self, selector, seconds=30):
        wait_for(lambda: self.texts(selector), bool, f"the page shows {selector}", self.said, seconds)

    def await_text(self, selector, part, seconds=30):
        return wait_for(lambda: self.text(selector), lambda text: part in text, f"{selector} shows '{part}'", self.said, seconds)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def count(self, selector):
        return self.driver.execute_script("return document.querySelectorAll(arguments[0]).length", selector)

    def later(self, text, *arguments):
        """Of a script that calls its last argument."""
        return self.driver.execute_async_script(text, *arguments)

    def said(self):
        """For messages: where it is, and what it shows and has complained of."""
        body = self.driver.find_element(By.TAG_NAME, "body").text
        return f"{self.driver.current_url}\n{body[:3000]}\n{self.complaints()}"

    def complaints(self):
        return [line["message"] for line in self.driver.get_log("browser") if line["level"] == "SEVERE"]


def end_all(pids):
    give_up = time.monotonic() + END_DEADLINE_S
    while any(alive(pid) for pid in pids) and time.monotonic() < give_up:
        time.sleep(0.05)
    for pid in pids:
        if alive(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def browser(*arguments):
    for program in (DRIVER, CHROMIUM):
        if not pathlib.Path(program).exists():
            sys.exit(f"there is no {program}: apt-get install --no-install-recommends chromium chromium-driver python3-selenium")
    with tempfile.TemporaryDirectory(prefix="orchid-browser-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        options = Options()
        options.binary_location = CHROMIUM
        # --no-sandbox: tests run as root, as which Chromium has none.
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1400,1000",
                         f"--user-data-dir={folder}/profile", *arguments):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = Service(DRIVER, env={**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder},
                          log_path=f"{folder}/driver.log")
        driver = None
        pids = []
        try:
            driver = webdriver.Chrome(service=service, options=options)
            driver.set_page_load_timeout(60)
            driver.set_script_timeout(60)
            pids = family(service.process.pid)
            yield Browser(driver)
        finally:
            if service.process is not None:
                pids = sorted({*pids, *family(service.process.pid)})
            if driver is not None:
                driver.quit()
            service.stop()
            end_all(pids)
