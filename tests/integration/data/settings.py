#!/usr/bin/python3
"""settings.py PROGRAMS [CASE...]: what the gateway's [data] says of versions and lives, with a real gateway and executor. Exit status 0: all is
as it should be."""
import sys

from data_objects import ask, expect, put, refused, started, wait_for, wait_until_used

SETTINGS = "[data]\nversions = 1\nunnamed_for = \"1s\"\n"


def one_version_is_kept(site):
    for content in (b"first", b"next"):
        put(site, "climate", content)
    wait_until_used(site, len(b"next"))
    refused(ask(site, "GET", "/v1/data/climate@1"), 404, "not_found")
    expect(ask(site, "GET", "/v1/data/climate@2").body == b"next", "the newest one stays")
    expect(ask(site, "DELETE", "/v1/data/climate").status == 204, "it is deleted")
    wait_until_used(site, 0)


def unnamed_data_lives_a_second_unless_its_maker_says_more(site):
    def make(**headers):
        answer = ask(site, "POST", "/v1/data", b"abc", **headers)
        made = answer.document()
        expect(answer.status == 201 and made["expires"] is not None, f"made: {answer.said()}")
        return made["id"]

    lasting, short = make(Orchid_Expires_In="3600"), make()
    wait_for(lambda: ask(site, "GET", f"/v1/data/{short}").status, lambda status: status == 404, "its time is over", site.said)
    wait_until_used(site, len(b"abc"))
    expect(ask(site, "GET", f"/v1/data/{lasting}").body == b"abc", "the other one stays")
    expect(ask(site, "DELETE", f"/v1/data/{lasting}").status == 204, "until it is deleted")
    wait_until_used(site, 0)


CASES = (one_version_is_kept, unnamed_data_lives_a_second_unless_its_maker_says_more)


def main():
    wanted = sys.argv[2:]
    with started(SETTINGS) as site:
        for case in CASES:
            if not wanted or case.__name__ in wanted:
                print(case.__name__, flush=True)
                case(site)


if __name__ == "__main__":
    main()
