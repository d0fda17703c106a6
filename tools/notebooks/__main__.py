import sys

from tools.notebooks.build import main

sys.exit(main())
