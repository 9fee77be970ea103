"""The paper's numerical section: settings, the job that runs one, and its figures (extra ``lab``)."""
