import sys

from tools.kit.build import main

sys.exit(main())
