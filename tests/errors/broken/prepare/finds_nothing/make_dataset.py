import glob
import os

here = os.path.dirname(os.path.realpath(__file__))

if __name__ == "__main__":
    os.makedirs(os.path.join(here, "data"), exist_ok=True)
    for path in glob.glob(os.path.join(here, "../../RawData/capitals/*.csv")):
        raise AssertionError(path)
