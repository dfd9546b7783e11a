"""The page's views of this machine, beside what the gateway says of it."""
from page_site import log_in


def views_show_what_there_is(site, chrome):
    site.orchid("invoke", "shows.markup")
    log_in(site, chrome, "hosts")
    chrome.await_text("[aria-label='Executors']", "connected")
    chrome.script("location.hash = 'functions'")
    chrome.await_text("[aria-label='Functions']", "steps")
    chrome.script("location.hash = 'invocations'")
    chrome.await_text("[aria-label='Invocations']", "shows.markup")
    chrome.script("location.hash = 'leases'")
    chrome.await_text("main", "Leases")
    chrome.script("location.hash = 'pilots'")
    chrome.await_text("main", "Nothing waits for workers")
    chrome.script("location.hash = 'times'")
    chrome.await_text("main", "call")
    chrome.script("location.hash = 'overview'")
    chrome.await_text(".charts", "Cores", 60)
