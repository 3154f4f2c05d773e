"""Notebook servers that are the user's place on the site: the account, namespace and limits of Berth's profiles."""

from .configure import configure

__all__ = ["configure"]
